/* SPDX-License-Identifier: Apache-2.0
 * What a model of rp/nn.h has of files: weights as safetensors, and the archive of its run. */
#ifndef RP_NN_FILES_H
#define RP_NN_FILES_H

#include "rp/audit.h"
#include "rp/nn.h"

/* How a training is recorded. {0}: from its beginning, as rp_recorder_new does; members mean what the calls of
 * rp/audit.h that are named do. */
typedef struct rp_nn_recording {
    /* The archive that rp_nn_archive wrote of this very training: where there is such a file the run goes on behind its
     * last step, as if it had never stopped (rp_nn_steps says after how many); where there is none it begins. */
    const char *resume;
    uint64_t checkpoint_every;  /* steps of the run: rp_recorder_set_checkpoint_period; 0: none */
    uint64_t state_period;      /* rp_recorder_set_state_period; 0: 1 */
    const char *parent;         /* the archive whose weights rp_nn_load took: rp_recorder_set_parent; NULL: none */
    uint64_t parent_checkpoint; /* 0: its final weights */
    const char *withhold;       /* a folder for the inputs, which the archive then lacks: rp_recorder_withhold */
} rp_nn_recording;

/* From here on every step is recorded, by a recorder that nn owns; the model is built first. recording may be NULL.
 * Errors: those of rp_nn_build and of the calls named above. */
RP_API rp_status rp_nn_record(rp_nn *nn, const rp_nn_recording *recording, rp_error *err);
/* The recorder, borrowed. NULL: none. */
RP_API rp_recorder *rp_nn_recorder(rp_nn *nn);
/* Writes the archive of the steps so far, in the place of one that is there: rp_recorder_save. key may be NULL. */
RP_API rp_status rp_nn_archive(rp_nn *nn, const char *path, const rp_key *key, char archive_id[RP_DIGEST_HEX],
                               rp_error *err);

typedef struct rp_nn_load_options {
    bool torch;   /* weights lie as in PyTorch: those of linear and recurrent layers and convolutions are turned */
    bool partial; /* parameters that are not in the file begin as initialised, one at least is; else RP_EDATA names the
                     first */
    const char *prefix; /* of the names in the file: "model." + "encoder.0.weight"; NULL: none */
} rp_nn_load_options;
/* Parameters and buffers by name from a safetensors file, from the files that an index (.json, weight_map) names beside
 * it, which are mapped and read in place, or from an archive's final weights (.reprise); f32, and bf16, which is
 * widened exactly. Tensors of other names are passed over. After rp_nn_build, which it does where nobody did, before
 * recorder and first step. A file must not be cut while it is read. An index says which file a tensor is in. options
 * may be NULL. Errors: RP_EIO; RP_EDATA for a file that is none, or another shape or type, with both; nothing is loaded
 * then. */
RP_API rp_status rp_nn_load(rp_nn *nn, const char *path, const rp_nn_load_options *options, rp_error *err);
typedef struct rp_nn_save_options {
    bool force;          /* in the place of a file that is there */
    bool torch;          /* as PyTorch has them: what rp_nn_load with torch turns is turned back */
    uint64_t file_bytes; /* path is an index (.json); beside it lie files of at most so many bytes of tensors, but one
                            that is larger alone: m.safetensors.index.json names m-00001-of-00002.safetensors; 0: one
                            file at path */
} rp_nn_save_options;
/* All parameters and buffers as they are now, f32, as safetensors; one tensor at a time is held. An index is written
 * last. options may be NULL. Errors: RP_EEXIST without force; RP_EIO. */
RP_API rp_status rp_nn_save(rp_nn *nn, const char *path, const rp_nn_save_options *options, rp_error *err);

#endif
