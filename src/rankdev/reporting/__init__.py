"""Something a person looks at: tables, pictures, files. No arithmetic."""
