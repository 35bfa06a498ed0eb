"""What is right: ordered references and how they are built."""
