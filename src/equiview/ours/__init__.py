"""What comes with equiview, by name: where each thing is, what it is, and how it is typed.

A file for each kind of thing, with its registry. What is named here is imported when it is used, so that
`equiview list` loads neither what audits nor a library of tables.
"""
