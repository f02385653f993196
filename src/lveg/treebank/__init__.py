"""The only readers and writers of corpora."""
