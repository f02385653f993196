"""From a forest and its posterior to trees: max-rule, Viterbi, minimum Bayes risk, k-best, samples, marginals."""
