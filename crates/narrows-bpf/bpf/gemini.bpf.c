/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/* GEMINI for the running kernel. */
#include "gemini_core.h"

#define CONTROL gemini
#define PACED 1
#include "control.h"
