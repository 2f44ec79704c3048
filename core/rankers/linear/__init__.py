"""Linear rankers fitted on pairs of documents: RankSVM and IR-SVM."""
