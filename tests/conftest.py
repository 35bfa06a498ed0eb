from hypothesis import settings

settings.register_profile("rankdev", deadline=None)  # a busy machine is not a failure
settings.load_profile("rankdev")
