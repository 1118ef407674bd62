"""Every reader on files that were damaged at random: by the byte, and by what the bytes stand for."""
