"""Marks that the tests of other libraries have."""


def pytest_configure(config):
    config.addinivalue_line("markers", "fail_slow(seconds): of scipy's own tests, and without effect here")
