"""LETOR text (svmlight with `qid`): one compiled parser, and a writer."""
