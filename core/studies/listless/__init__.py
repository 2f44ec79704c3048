"""What studies of data without candidate lists share: text collections, preferences."""
