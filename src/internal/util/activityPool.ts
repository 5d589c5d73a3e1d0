/** The pool of those who run activities: what is claimed by whom is no member of it is free. */
export const activityPool = "activities"
