"""Contexts: factors for the weight of an anchored rule, or of a tag, from the words around it."""
