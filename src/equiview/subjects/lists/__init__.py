"""Systems that are known by the result lists they return: finished runs and databases."""
