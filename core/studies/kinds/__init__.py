"""The kinds of studies: each what it is asked, how it is answered, and what its numbers say."""
