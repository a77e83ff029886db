/** What a command runs in turn, as far as its arguments say. */
export interface Inner {
  /** Place of the inner command among the outer one's words; a free command that reaches it covers it. */
  readonly from: number;
  /** The inner command as words, or as a text that a shell reads. */
  readonly run:
    | { readonly words: readonly string[]; readonly raws: readonly string[] }
    | {
        readonly code: string;
        readonly positional?: readonly string[];
        /** The shell is one of Windows: what does not parse as bash is searched for refusals and asks. */
        readonly windows?: true;
      };
  /**
   * Only its refusals count: the outer command is a tool in its own right (`npx`, `docker exec`), or the reading
   * is one of several possible ones.
   */
  readonly refusalsOnly?: true;
  /** The inner command reads the outer one's standard input. */
  readonly keepsInput?: true;
  /** Directory in which the inner command starts. */
  readonly cwd?: string;
}
