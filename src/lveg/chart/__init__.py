"""The coarse pass over all spans of a sentence, and posterior pruning."""
