"""Trees from a forest and its posterior: max-rule, Viterbi, minimum Bayes risk, k-best, samples, marginals."""
