"""Reading and writing: files and tables on disk, locks, hashes, what is kept and what must not be printed."""
