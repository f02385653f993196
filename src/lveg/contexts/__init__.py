"""Contexts: what the words around an anchored rule, or around a tag, multiply its weight with."""
