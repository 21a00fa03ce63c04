// Passing an Error up, in one line. The two macros are the only control flow hidden in a macro.
#pragma once

#include "tutti/result.h"

// Returns the error of `expr`, if it has one.
#define TUTTI_TRY(expr)                            \
  do {                                             \
    if (auto try_result_ = (expr); !try_result_) { \
      return std::move(try_result_.error());       \
    }                                              \
  } while (false)

#define TUTTI_CONCAT_INNER_(a, b) a##b
#define TUTTI_CONCAT_(a, b) TUTTI_CONCAT_INNER_(a, b)
#define TUTTI_ASSIGN_(result, declaration, expr) \
  auto result = (expr);                          \
  if (!result) return std::move(result.error()); \
  declaration = *std::move(result)

// Declares a variable with the value of `expr`, or returns its error:
//   TUTTI_ASSIGN(auto text, base::read_file(path));
#define TUTTI_ASSIGN(declaration, expr) \
  TUTTI_ASSIGN_(TUTTI_CONCAT_(assign_result_, __LINE__), declaration, expr)
