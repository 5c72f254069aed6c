/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/* DCTCP for the running kernel, which may have one of its own under another name. */
#include "dctcp_core.h"

#define CONTROL dctcp
#define PACED 0
#include "control.h"
