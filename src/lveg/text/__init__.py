"""From raw text to sentences and words: tokenisers by rule and learned ones."""
