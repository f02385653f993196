"""Latent vector grammars."""
