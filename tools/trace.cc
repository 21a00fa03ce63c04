// tutti trace: the traces of a run's ranks as one file, for Perfetto or for programs.
#include "trace/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "base/file.h"
#include "base/try.h"
#include "tools/terminal.h"
#include "tools/verb.h"

namespace tutti::tools {
namespace {

namespace fs = std::filesystem;

struct Arguments {
  std::vector<std::string> sources;
  std::string format = "chrome";
  std::string output = "-";
};

constexpr const char* kFooter = R"(Examples:
  tutti run -n 4 --trace traces -- ./train
  tutti trace traces -o trace.json           then open it in https://ui.perfetto.dev
  tutti trace traces/trace-0.jsonl traces/trace-1.jsonl --to json-lines -o both.jsonl)";

// A folder stands for the traces in it.
Result<std::vector<std::string>> files_of(const std::vector<std::string>& sources) {
  std::vector<std::string> files;
  for (const std::string& source : sources) {
    std::error_code error;
    if (!fs::is_directory(source, error)) {
      files.push_back(source);
      continue;
    }
    const size_t before = files.size();
    for (fs::directory_iterator at(source, error), end; !error && at != end; at.increment(error)) {
      const std::string name = at->path().filename().string();
      if (name.starts_with("trace-") && name.ends_with(".jsonl")) files.push_back(at->path());
    }
    if (files.size() == before) {
      return Error{ErrorCode::kNotFound, fmt::format("{}: no trace-RANK.jsonl is there", source)};
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

Status write_merged(const Arguments& a) {
  TUTTI_ASSIGN(const auto files, files_of(a.sources));
  std::vector<trace::Trace> traces;
  for (const std::string& file : files) {
    TUTTI_ASSIGN(const std::string text, base::read_file(file));
    TUTTI_ASSIGN(auto trace, trace::parse_json_lines(text, file));
    traces.push_back(std::move(trace));
  }
  TUTTI_ASSIGN(const trace::Trace merged, trace::merge(std::move(traces)));
  return base::write_file(
      a.output, a.format == "chrome" ? trace::to_chrome(merged) : trace::to_json_lines(merged));
}

int run(const Arguments& a) {
  const Status status = write_merged(a);
  return status ? kYes : fail(status.error());
}

}  // namespace

void add_trace(CLI::App& app, Action& action) {
  auto a = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand("trace", "Make one trace of those that ranks have written");
  verb->footer(kFooter);
  verb->add_option("sources", a->sources, "Trace files, or folders of them")->required();
  verb->add_option("--to", a->format, "chrome, which Perfetto opens, or json-lines")
      ->check(CLI::IsMember({"chrome", "json-lines"}))
      ->capture_default_str();
  verb->add_option("-o", a->output, "Where to; - is standard output")->capture_default_str();
  verb->callback([a, &action] { action = [a] { return run(*a); }; });
}

}  // namespace tutti::tools
