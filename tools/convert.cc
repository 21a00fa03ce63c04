// tutti convert FILE --to FORMAT: the same schedule in another system's words.
#include <memory>
#include <string>

#include "base/file.h"
#include "base/try.h"
#include "comm/schedule_file.h"
#include "ir/msccl/plan_json.h"
#include "ir/msccl/xml.h"
#include "ir/text.h"
#include "tools/terminal.h"
#include "tools/verb.h"

namespace tutti::tools {
namespace {

struct Arguments {
  std::string file;
  std::string format;
  std::string out = "-";
};

Result<std::string> convert(const Arguments& arguments) {
  TUTTI_ASSIGN(const ir::Schedule schedule, comm::read_schedule(arguments.file));
  if (arguments.format == "msccl-xml") return ir::msccl::to_xml(schedule);
  if (arguments.format == "mscclpp-json") return ir::msccl::to_plan_json(schedule);
  return ir::to_text(schedule);
}

int run(const Arguments& arguments) {
  const Result<std::string> text = convert(arguments);
  if (!text) return fail(text.error());
  const Status written = base::write_file(arguments.out, *text);
  return written ? kYes : fail(written.error());
}

}  // namespace

void add_convert(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand("convert", "Write a schedule in another format");
  verb->footer(
      "Reads our JSON or MSCCL XML. The limits of the other system's reader are checked, and "
      "named\n"
      "when the schedule exceeds one (docs/reference/msccl.md).");
  verb->add_option("FILE", arguments->file, "A schedule (JSON or MSCCL XML); - reads stdin")
      ->required();
  verb->add_option("--to", arguments->format, "msccl-xml, mscclpp-json or json")
      ->required()
      ->check(CLI::IsMember({"msccl-xml", "mscclpp-json", "json"}));
  verb->add_option("-o,--out", arguments->out, "Where to write; - is stdout")
      ->capture_default_str();
  verb->callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace tutti::tools
