/* SPDX-License-Identifier: Apache-2.0
 * What a resolved recipe says of where its data lie: in an archive they are members, whatever their files were called.
 */
#include "audit/archive/member.h"
#include "audit/drive/driver.h"

int rp_recipe_forget_paths(rp_json *recipe)
{
    rp_json *data = rp_json_object_get(recipe, "data");
    int failed;

    if (rp_json_object_get(data, "text"))
        return rp_json_object_set_new(data, "text", rp_json_string(RP_TEXT_MEMBER));
    failed = rp_json_object_set_new(data, "csv", rp_json_string(RP_TABLE_MEMBER));

    if (rp_json_object_get(data, "test_csv"))
        failed |= rp_json_object_set_new(data, "test_csv", rp_json_string(RP_TEST_TABLE_MEMBER));
    return failed;
}
