#include "tools/view/server.h"

#include <fmt/format.h>
#include <httplib.h>
#include <sys/random.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "tools/view/answers.h"
#include "tools/view/page.h"
#include "tools/view/page_files.h"

namespace tutti::view {
namespace {

constexpr size_t kMostBodyBytes = size_t{256} << 20;

// 128 bits from the system, in hexadecimal.
Result<std::string> make_secret() {
  std::array<unsigned char, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return Error{ErrorCode::kIo, fmt::format("no random numbers: {}", std::strerror(errno))};
  }
  std::string text;
  for (unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

// Takes as long for a wrong guess as for a right one.
bool is_same(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

// Names of files and calls may be any bytes; what is no UTF-8 is written as the sign for that.
std::string utf8_of(const ordered_json& json) {
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

int status_of(ErrorCode code) { return code == ErrorCode::kNotFound ? 404 : 400; }

std::string_view type_of(std::string_view name) {
  return name.ends_with(".css") ? "text/css; charset=utf-8" : "text/javascript; charset=utf-8";
}

void say(httplib::Response& response, int status, const std::string& text) {
  response.status = status;
  response.set_content(text + "\n", "text/plain; charset=utf-8");
}

}  // namespace

struct Server::State {
  Shelf* shelf = nullptr;
  httplib::Server http;
  int port = 0;
  std::string token;
  std::string nonce;
  std::thread thread;
  std::atomic<bool> has_ended = false;

  // False, with the response said, for a request that nobody with the address would send.
  bool admits(const httplib::Request& request, httplib::Response& response) const;
  void add_headers(httplib::Response& response) const;
  void route();
  void serve_page_file(const httplib::Request& request, httplib::Response& response) const;
  void serve_answer(const httplib::Request& request, httplib::Response& response) const;
  void take_file(const httplib::Request& request, httplib::Response& response) const;
};

bool Server::State::admits(const httplib::Request& request, httplib::Response& response) const {
  const std::string host = request.get_header_value("Host");
  if (host != fmt::format("127.0.0.1:{}", port) && host != fmt::format("localhost:{}", port)) {
    say(response, 403,
        fmt::format("tutti view answers to 127.0.0.1:{} and localhost:{} only, not to '{}'.", port,
                    port, host));
    return false;
  }
  const size_t end = request.path.find('/', 1);
  const std::string_view given =
      std::string_view(request.path).substr(1, end == std::string::npos ? end : end - 1);
  if (is_same(given, token)) return true;
  say(response, 403,
      "This address has no token, or not the one of this run. Open the whole address that "
      "'tutti view' printed when it started; a new start has a new one.");
  return false;
}

void Server::State::add_headers(httplib::Response& response) const {
  response.set_header("Content-Security-Policy",
                      fmt::format("default-src 'none'; script-src 'self' 'nonce-{}'; style-src "
                                  "'self'; connect-src 'self'; img-src 'self' data:; base-uri "
                                  "'none'; form-action 'none'; frame-ancestors 'none'",
                                  nonce));
  response.set_header("Referrer-Policy", "no-referrer");
  response.set_header("X-Content-Type-Options", "nosniff");
  response.set_header("Cache-Control", "no-store");
}

void Server::State::serve_page_file(const httplib::Request& request,
                                    httplib::Response& response) const {
  const std::string name = request.matches[1];
  for (const PageFile& file : page_files()) {
    if (file.name != name || name == "index.html") continue;
    response.set_content(file.text.data(), file.text.size(), std::string(type_of(name)));
    return;
  }
  say(response, 404, fmt::format("The page has no file '{}'.", name));
}

void Server::State::serve_answer(const httplib::Request& request,
                                 httplib::Response& response) const {
  Question question{request.matches[1], {}};
  for (const auto& [name, value] : request.params) question.parameters[name] = value;
  const Result<ordered_json> found = answer(*shelf, question);
  if (found) {
    response.set_content(utf8_of(*found), "application/json");
  } else {
    say(response, status_of(found.error().code), found.error().message);
  }
}

void Server::State::take_file(const httplib::Request& request, httplib::Response& response) const {
  const std::string name = request.has_param("name") ? request.get_param_value("name") : "file";
  const Result<size_t> number = shelf->add(name, request.body);
  if (number) {
    response.set_content(ordered_json{{"number", *number}}.dump(), "application/json");
  } else {
    say(response, status_of(number.error().code), number.error().message);
  }
}

void Server::State::route() {
  http.set_payload_max_length(kMostBodyBytes);
  // A connection that a browser keeps open holds a thread, and the end of the program, so long.
  http.set_keep_alive_timeout(1);
  http.set_pre_routing_handler([this](const auto& request, auto& response) {
    add_headers(response);
    return admits(request, response) ? httplib::Server::HandlerResponse::Unhandled
                                     : httplib::Server::HandlerResponse::Handled;
  });
  http.Get("/" + token,
           [this](const auto&, auto& response) { response.set_redirect("/" + token + "/"); });
  http.Get("/" + token + "/", [this](const auto&, auto& response) {
    response.set_content(served_page(nonce), "text/html; charset=utf-8");
  });
  http.Get("/" + token + R"(/page/([\w.]+))",
           [this](const auto& request, auto& response) { serve_page_file(request, response); });
  http.Get("/" + token + R"(/api/(\w+))",
           [this](const auto& request, auto& response) { serve_answer(request, response); });
  http.Post("/" + token + "/api/file",
            [this](const auto& request, auto& response) { take_file(request, response); });
  http.set_exception_handler([](const auto& request, auto& response, std::exception_ptr fault) {
    std::string what = "unknown";
    try {
      std::rethrow_exception(std::move(fault));
    } catch (const std::exception& thrown) {
      what = thrown.what();
    } catch (...) {  // what it is cannot be said
    }
    say(response, 500,
        fmt::format("This is a fault of tutti, not of yours: '{}' ended with: {}. Please report it "
                    "with this address.",
                    request.path.substr(request.path.find_last_of('/') + 1), what));
  });
  http.set_error_handler([](const auto& request, auto& response) {
    if (!response.body.empty()) return;
    if (response.status == 413) {
      say(response, 413, "The file has more than 256 MiB; cut the trace, or use tutti trace.");
    } else {
      say(response, response.status, fmt::format("There is nothing at '{}'.", request.path));
    }
  });
}

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}

Server::~Server() { stop(); }

Result<std::unique_ptr<Server>> Server::start(Shelf& shelf) {
  auto state = std::make_unique<State>();
  state->shelf = &shelf;
  for (std::string* secret : {&state->token, &state->nonce}) {
    Result<std::string> made = make_secret();
    if (!made) return made.error();
    *secret = *std::move(made);
  }
  state->route();
  state->port = state->http.bind_to_any_port("127.0.0.1");
  if (state->port <= 0) {
    return Error{ErrorCode::kIo, "no port of 127.0.0.1 can be listened on; is it restricted?"};
  }
  State* const its = state.get();
  state->thread = std::thread([its] {
    its->http.listen_after_bind();
    its->has_ended = true;
  });
  // A server that is told to stop before it listens does not hear it.
  // Liveness: the thread comes to listen, or ends.
  while (!state->http.is_running() && !state->has_ended) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return std::unique_ptr<Server>(new Server(std::move(state)));
}

std::string Server::address() const {
  return fmt::format("http://127.0.0.1:{}/{}/", state_->port, state_->token);
}

bool Server::stop_within(std::chrono::milliseconds limit) {
  if (!state_->thread.joinable()) return true;
  state_->http.stop();
  const auto deadline = std::chrono::steady_clock::now() + limit;
  // Liveness: until the limit.
  while (!state_->has_ended && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (!state_->has_ended) return false;
  state_->thread.join();
  return true;
}

void Server::stop() {
  if (!state_->thread.joinable()) return;
  state_->http.stop();
  state_->thread.join();
}

}  // namespace tutti::view
