// The page's server: this machine only, for whoever has the token. It listens on 127.0.0.1 at a
// port that the system chooses; every path begins with the token; a request that was sent to
// another host name is refused, so that a web site cannot reach it by a name of its own.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "tools/view/shelf.h"
#include "tutti/result.h"

namespace tutti::view {

class Server {
 public:
  // The shelf must outlive this. kIo when no port can be had.
  static Result<std::unique_ptr<Server>> start(Shelf& shelf);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // "http://127.0.0.1:40123/TOKEN/"
  [[nodiscard]] std::string address() const;
  // Ends the server; called by the destructor. Answers that are being made are waited for.
  void stop();
  // Takes no more questions, and waits so long for answers that are being made. Whether all are
  // out, and the server has ended.
  [[nodiscard]] bool stop_within(std::chrono::milliseconds limit);

 private:
  struct State;
  explicit Server(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tutti::view
