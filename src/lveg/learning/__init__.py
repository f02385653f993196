"""Training code that families share."""
