# SPDX-License-Identifier: Apache-2.0
"""What more than one door writes with a program's operations."""
