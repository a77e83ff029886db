/** Share of a budget from which on it warns: people in their inbox, and whoever keeps the fleet by an alert. */
export const budgetWarningShare = 0.8;
