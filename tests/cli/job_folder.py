"""A test whose jobs have their directories in a folder of its own, and nothing of the caller's."""
import os
import tempfile
import unittest


class JobFolderTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("TUTTI_")}
        self.environment |= {"TMPDIR": self.folder, "XDG_CONFIG_HOME": self.folder,
                             "XDG_CACHE_HOME": self.folder + "/cache"}
        self.environment.pop("XDG_RUNTIME_DIR", None)
