/* SPDX-License-Identifier: Apache-2.0
 * Reprise, everything public: deterministic, replayable machine learning for audit. */
#ifndef RP_RP_H
#define RP_RP_H

#include "rp/archive.h"
#include "rp/audit.h"
#include "rp/bench.h"
#include "rp/composite.h"
#include "rp/dtype.h"
#include "rp/error.h"
#include "rp/explain.h"
#include "rp/export.h"
#include "rp/image.h"
#include "rp/indexing.h"
#include "rp/inspect.h"
#include "rp/log.h"
#include "rp/loss.h"
#include "rp/memory.h"
#include "rp/nn.h"
#include "rp/nn_files.h"
#include "rp/optimizer.h"
#include "rp/policy.h"
#include "rp/predict.h"
#include "rp/profile.h"
#include "rp/program.h"
#include "rp/retraining.h"
#include "rp/run.h"
#include "rp/statement.h"
#include "rp/tensor.h"
#include "rp/trust.h"
#include "rp/validation.h"
#include "rp/verify.h"

#endif
