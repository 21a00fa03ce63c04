"""One headless chromium for all cases, and the few things that cases do with it. Waits are for
conditions, with limits that a busy machine keeps; no case takes time that passed for a proof."""
import os
import tempfile

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.remote_connection import RemoteConnection
from selenium.webdriver.support.ui import WebDriverWait

SECONDS = 180
SIZE = (1280, 900)

# Whether the page has drawn the address that it was given, or has a problem with it.
IS_DRAWN = """
const main = document.getElementById("main");
const same = (a, b) => new URLSearchParams(a).toString() === new URLSearchParams(b).toString();
if (!main?.dataset.ready || !same(location.hash.slice(1), arguments[0])) return null;
if (main.dataset.ready === "problem") return main.innerText;
return same(main.dataset.address.slice(1), arguments[0]);
"""


# Visits one address after the other without leaving the page, and reads something at each: what a
# person would see who types them. Ends with the first that has a problem.
TOUR = """
const drawn = new Function(arguments[1]);
const read = new Function(arguments[2]);
const found = [];
for (const fragment of arguments[0]) {
  location.hash = fragment;
  let answer = null;
  for (;;) {
    answer = drawn(fragment.slice(1));
    if (answer) break;
    await new Promise((go) => setTimeout(go, 2));
  }
  if (typeof answer === "string") return [found, fragment + ": " + answer];
  found.push(read());
}
return [found, null];
"""


class Browser:
    def __init__(self):
        RemoteConnection.set_timeout(SECONDS)
        self.folder = tempfile.TemporaryDirectory()
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        # A container has little of /dev/shm, and root gets no sandbox.
        for argument in ("--headless=new", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage",
                         "--no-first-run", "--disable-extensions",
                         # Cases change the address faster than people do.
                         "--disable-ipc-flooding-protection", "--disable-background-networking",
                         f"--window-size={SIZE[0]},{SIZE[1]}", f"--user-data-dir={self.folder.name}"):
            options.add_argument(argument)
        if os.geteuid() == 0:
            options.add_argument("--no-sandbox")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
        self.driver.set_page_load_timeout(SECONDS)
        self.driver.set_script_timeout(SECONDS)

    def quit(self):
        self.driver.quit()
        self.folder.cleanup()

    def widen(self):
        """The usual size. Ends when the page has it: a page that learns of it late draws itself anew
        under a case's hands."""
        self.driver.set_window_size(*SIZE)
        self.until(lambda: self.js("return innerWidth") == SIZE[0], "the usual width")

    def js(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def later(self, script, *arguments):
        """The result of a script that has promises in it: an async function's body."""
        outcome = self.driver.execute_async_script(
            "const done = arguments[arguments.length - 1];"
            f"(async () => {{ {script} }})().then((value) => done({{value}}),"
            "(error) => done({error: String(error)}));", *arguments)
        assert "error" not in outcome, outcome["error"]
        return outcome.get("value")

    def until(self, condition, what):
        return WebDriverWait(self.driver, SECONDS, poll_frequency=0.02).until(
            lambda _: condition(), what)

    def open(self, address, **state):
        """Loads the page anew."""
        self.driver.get("about:blank")
        self.driver.get(address + fragment(state))
        self.drawn(state)

    def go(self, **state):
        """Changes the address of a page that is loaded, as a person would."""
        self.js("location.hash = arguments[0]", fragment(state))
        self.drawn(state)

    def tour(self, states, read):
        """What the script `read` returns at each of the states, in one go."""
        found, problem = self.later(TOUR, [fragment(state) for state in states], IS_DRAWN, read)
        assert problem is None, problem
        return found

    def drawn(self, state):
        def is_drawn():
            answer = self.js(IS_DRAWN, fragment(state)[1:])
            assert not isinstance(answer, str), f"{state}: {answer}"
            return answer
        self.until(is_drawn, f"{state} is drawn")

    def problem(self):
        """The words of the alert, once there is one."""
        self.until(lambda: self.js("return document.getElementById('main').dataset.ready") == "problem",
                   "an alert")
        return self.driver.find_element(By.CSS_SELECTOR, "[role=alert]").text

    def complaints(self):
        """The errors on the console since the last call. That the server refused something is not
        counted: cases that want it refused look at what the page says, and in all others a page that
        got no answer is not drawn, which ends the case."""
        return [entry["message"] for entry in self.driver.get_log("browser")
                if entry["level"] == "SEVERE" and "Failed to load resource" not in entry["message"]]

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def text(self, selector):
        return self.js("return document.querySelector(arguments[0])?.textContent", selector)


def fragment(state):
    """As the page's own address would have it; values need no escapes."""
    return "#" + "&".join(f"{name}={value}" for name, value in state.items())
