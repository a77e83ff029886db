/** Whether this process is the one that does what only one of all dispatchers should do at a time. */
export interface Leadership {
  leads(): boolean;
}
