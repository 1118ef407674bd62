"""Audit perspectival bias in systems that match images with text.

A retriever should return the same whoever asks: what it gives must depend on what was asked, not on
the language or culture of the asker, the people shown, or what usually appears together. equiview
measures where that fails, explains it, and helps to mend it.

Importing this package is cheap: heavy libraries load inside the functions that need them.
"""

__version__ = "0.1.0"
