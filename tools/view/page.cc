#include "tools/view/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/check.h"
#include "base/try.h"
#include "tools/view/answers.h"
#include "tools/view/page_files.h"

namespace tutti::view {
namespace {

// Marks in index.html.
constexpr std::string_view kHeadMark = "<!-- style and modules -->";
constexpr std::string_view kDataMark = "<!-- data -->";

std::string_view file_named(std::string_view name) {
  for (const PageFile& file : page_files()) {
    if (file.name == name) return file.text;
  }
  return {};
}

std::string base64(std::string_view bytes) {
  static constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t three = 0;
    for (size_t j = 0; j < 3; ++j) {
      three = three << 8 | (i + j < bytes.size() ? static_cast<uint8_t>(bytes[i + j]) : 0u);
    }
    for (size_t j = 0; j < 4; ++j) {
      const bool is_padding = i + j > bytes.size();
      text += is_padding ? '=' : kLetters[three >> (18 - 6 * j) & 63u];
    }
  }
  return text;
}

template <class Where>
std::string import_map(std::string_view attributes, Where where) {
  nlohmann::ordered_json imports = nlohmann::ordered_json::object();
  for (const PageFile& file : page_files()) {
    if (!file.name.ends_with(".js")) continue;
    const std::string_view stem = file.name.substr(0, file.name.size() - 3);
    imports[fmt::format("tutti/{}", stem)] = where(file);
  }
  return fmt::format("<script type=\"importmap\"{}>{}</script>\n", attributes,
                     nlohmann::ordered_json{{"imports", imports}}.dump());
}

std::string replaced(std::string text, std::string_view mark, std::string_view with) {
  const size_t at = text.find(mark);
  TUTTI_CHECK(at != std::string::npos, "index.html lacks a mark");
  return text.replace(at, mark.size(), with);
}

// JSON inside a script element: no text in it ends the element, or begins a comment or another
// script. A '<' is in strings only.
std::string inert(const ordered_json& json) {
  std::string text;
  for (const char letter : json.dump(-1, ' ', false, ordered_json::error_handler_t::replace)) {
    if (letter == '<') {
      text += "\\u003c";
    } else {
      text += letter;
    }
  }
  return text;
}

std::vector<Question> questions_of_files(const Shelf& shelf) {
  std::vector<Question> questions;
  std::string traces;
  const auto files = shelf.all();
  for (size_t i = 0; i < files.size(); ++i) {
    const std::string number = std::to_string(i);
    if (std::holds_alternative<trace::Trace>(files[i]->content)) {
      traces += (traces.empty() ? "" : ",") + number;
      continue;
    }
    for (const char* name : {"schedule", "simulation", "costs", "sweep"}) {
      questions.push_back({name, {{"file", number}}});
    }
  }
  if (!traces.empty()) {
    questions.push_back({"trace", {{"files", traces}}});
    questions.push_back({"trace", {{"files", traces}, {"to", "chrome"}}});
  }
  return questions;
}

bool questions_hold(const std::vector<Question>& questions,
                    const std::map<std::string, std::string>& parameters) {
  return std::any_of(questions.begin(), questions.end(),
                     [&](const Question& question) { return question.parameters == parameters; });
}

std::vector<Question> questions_to_answer(const Shelf& shelf, const ExportOptions& options) {
  std::vector<Question> questions = questions_of_files(shelf);
  const std::string ranks = std::to_string(options.ranks);
  // As many as the page tells apart there: MOST_RANKS of order.js.
  const uint32_t in_order = std::clamp(options.ranks, 2u, 16u);
  questions.push_back({"order", {{"ranks", std::to_string(in_order)}}});
  for (const plan::Algorithm& algorithm : all_algorithms()) {
    Question question{"",
                      {{"collective", std::string(to_string(algorithm.kind))},
                       {"algorithm", std::string(algorithm.name)},
                       {"ranks", ranks}}};
    const bool needs_peer = algorithm.kind == CollectiveKind::kSendRecv && options.ranks > 1;
    if (needs_peer) question.parameters["peer"] = "1";
    for (const char* name : {"schedule", "simulation"}) {
      question.name = name;
      questions.push_back(question);
    }
    // These are about all algorithms of the collective: asked once for each of these.
    question.parameters.erase("algorithm");
    const bool is_asked = questions_hold(questions, question.parameters);
    for (const char* name : {"costs", "sweep"}) {
      question.name = name;
      if (!is_asked) questions.push_back(question);
    }
  }
  return questions;
}

}  // namespace

std::string served_page(std::string_view nonce) {
  const std::string head =
      "<link rel=\"stylesheet\" href=\"page/style.css\">\n" +
      import_map(fmt::format(" nonce=\"{}\"", nonce),
                 [](const PageFile& file) { return fmt::format("./page/{}", file.name); }) +
      "<script type=\"module\" src=\"page/app.js\"></script>\n";
  std::string page = replaced(std::string(file_named("index.html")), kHeadMark, head);
  return replaced(std::move(page), kDataMark, "");
}

Result<std::string> exported_page(const Shelf& shelf, const ExportOptions& options) {
  ordered_json catalogue = answer_catalogue(shelf);
  catalogue["defaults"]["ranks"] = options.ranks;
  ordered_json answers{{"catalogue", catalogue}};
  for (const Question& question : questions_to_answer(shelf, options)) {
    Result<ordered_json> one = answer(shelf, question);
    // What cannot be answered (too large to draw) is said where it would be shown.
    answers[key_of(question)] =
        one ? *std::move(one) : ordered_json{{"error", one.error().message}};
  }
  const std::string head = fmt::format("<style>\n{}</style>\n", file_named("style.css")) +
                           import_map("",
                                      [](const PageFile& file) {
                                        return "data:text/javascript;base64," + base64(file.text);
                                      }) +
                           "<script type=\"module\">import \"tutti/app\";</script>\n";
  std::string page = replaced(std::string(file_named("index.html")), kHeadMark, head);
  const std::string data =
      fmt::format("<script type=\"application/json\" id=\"data\">{}</script>\n", inert(answers));
  return replaced(std::move(page), kDataMark, data);
}

}  // namespace tutti::view
