// The files that the page can show: those of the command line and those dropped on it. A file is a
// schedule or a trace, told apart by what is in it, and has been read without an error.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "ir/schedule.h"
#include "topo/topology.h"
#include "trace/trace.h"
#include "tutti/result.h"

namespace tutti::view {

struct ShelfFile {
  std::string name;
  std::variant<ir::Schedule, trace::Trace> content;
};

// Thread-safe. Files are never taken away, so that an address with a file's number stays good.
class Shelf {
 public:
  static constexpr size_t kMaxFiles = 4096;

  // Returns the file's number. Errors are the readers', with file and line.
  Result<size_t> add(std::string name, const std::string& text);
  [[nodiscard]] Result<std::shared_ptr<const ShelfFile>> get(size_t number) const;
  [[nodiscard]] std::vector<std::shared_ptr<const ShelfFile>> all() const;

  // A machine that was read from a file, which the page may not name itself; set before anyone
  // asks.
  void set_machine(std::string name, topo::Topology machine);
  [[nodiscard]] const std::string& machine_name() const { return machine_name_; }
  [[nodiscard]] const topo::Topology& machine() const { return machine_; }

 private:
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const ShelfFile>> files_;
  std::string machine_name_;
  topo::Topology machine_;
};

}  // namespace tutti::view
