// Which tutti this is.
#pragma once

namespace tutti {

// "0.1.0": the version of the library that is linked, not of the header that was included.
[[nodiscard]] const char* version() noexcept;

}  // namespace tutti
