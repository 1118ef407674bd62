"""The nouns: items, relevance, rankings, observations, estimates, figures, and the folder of a run."""
