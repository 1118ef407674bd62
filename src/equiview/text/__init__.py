"""Words: how texts are split and written, and what they name. One list of each."""
