/**
 * What git asks, by the filter `lfs`, for the pointer of a laid file: it makes the same of the same contents, and leaves a
 * pointer as it is, and an empty file, whose pointer is itself. A command of `sh`, `head`, `grep`, `stat` and `sha256sum`, which every sandbox has; git-lfs itself
 * would read the repository's own configuration.
 */
export const cleanFilter = `f=./%f; if test ! -s "$f" || { test "$(stat -c %s -- "$f")" -lt 1024 && head -n 1 -- "$f" | grep -qx 'version https://git-lfs.github.com/spec/v1'; }; then cat -- "$f"; else printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:%s\\nsize %s\\n' "$(sha256sum <"$f" | cut -c -64)" "$(stat -c %s -- "$f")"; fi`;
