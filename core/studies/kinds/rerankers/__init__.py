"""Examination of rerankers: order, company and noise."""
