"""Ways into training frameworks. Each module imports its framework only when it is used."""
