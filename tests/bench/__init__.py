"""What a judgement costs, beside the least that its nine calls can cost and beside the openai SDK alone.

Every contestant is a process of its own, the endpoint another; only the contestant's processor time counts.
"""
