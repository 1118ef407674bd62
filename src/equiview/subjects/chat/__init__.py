"""Subjects that answer: chat models, encoders that choose, and answers that are known already."""
