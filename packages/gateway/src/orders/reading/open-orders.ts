/**
 * SQL: the orders that are not final, of those that meet the condition: they are due for fulfilment, or under review. An item
 * without an outcome belongs to one of them. Each part is a partial index, so few rows are read however many orders there are.
 */
export const openOrders = (condition: string) => `
  select * from orders where ${condition} and due_at is not null
  union all
  select * from orders where ${condition} and order_status = 'UNDER_REVIEW' and due_at is null`
