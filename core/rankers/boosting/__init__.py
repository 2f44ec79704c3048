"""Boosted rankers: thresholds (RankBoost, FRank) and trees (MART, LambdaMART)."""
