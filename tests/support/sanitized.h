// Whether a sanitizer watches: code then runs ten times slower, and tests that try thousands of
// cases, all of which the plain build tries, may try fewer.
#pragma once

namespace tutti::test {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace tutti::test
