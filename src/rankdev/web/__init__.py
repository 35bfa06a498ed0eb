"""The local web application: people judge in a browser, and every answer is kept."""
