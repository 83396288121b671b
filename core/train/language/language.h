/* SPDX-License-Identifier: Apache-2.0
 * Training on a text (CONTRACT 17): its programs, what is fed to them, what its evaluations come to, and going on with
 * a text. Private to core/train. */
#ifndef CORE_TRAIN_LANGUAGE_LANGUAGE_H
#define CORE_TRAIN_LANGUAGE_LANGUAGE_H

#include "core/train/trainer.h"

/* Counts the steps and compiles their programs. Errors: RP_ENOMEM. */
rp_status rp_language_build(rp_trainer *trainer, rp_error *err);
/* Steps that evaluate; those of the training part come first. */
uint64_t rp_language_evaluations(const rp_trainer *trainer);
/* The windows of training step s (from 1), and of evaluation e (from 0). */
rp_status rp_language_feed(rp_trainer *trainer, int64_t s, rp_error *err);
rp_status rp_language_feed_evaluation(rp_trainer *trainer, uint64_t e, rp_error *err);
/* Takes what evaluation e has found. */
rp_status rp_language_judge(rp_trainer *trainer, uint64_t e, rp_error *err);

#endif
